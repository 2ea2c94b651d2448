import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCommand } from '../support/command.js'
import { temporaryFolder } from '../support/temporary-folder.js'

/** Debian installs libraries beside its own Python. */
const pythonWith = (library: string) =>
  ['python3', '/usr/bin/python3'].find(
    python => spawnSync(python, ['-c', `import ${library}`]).status === 0,
  )
const needing = (library = 'asyncio') => ({
  skip: pythonWith(library) === undefined && `Python with ${library} is not installed`,
})

const BEGIN = `
import asyncio, datetime, json, os, queue, subprocess, sys, threading, time
from urllib.error import HTTPError
from urllib.request import Request, urlopen
base, key, control = (os.environ['ADOPTION_STORE_' + name] for name in ('BASE_URL', 'API_KEY', 'CONTROL_URL'))
url, headers = base + '/pets', {'Authorization': 'Bearer ' + key}
def get(**limit): return urlopen(Request(url, None, headers), **limit).read()
`

/** Runs `exec --skip-waits` with a program, beside a sitecustomize of the user. */
function run(t: TestContext, program: string, library = 'asyncio', words = ['']) {
  const folder = temporaryFolder(t)
  const client = join(folder, 'client.py')
  writeFileSync(join(folder, 'sitecustomize.py'), 'import os; os.customized = True')
  writeFileSync(client, BEGIN + program)
  const command = [pythonWith(library) ?? '', ...words.filter(Boolean), client]
  const { PYTHONPATH } = process.env
  return runCommand(['exec', '--skip-waits', '--', ...command], {
    ...process.env,
    PYTHONPATH: [folder, PYTHONPATH].filter(Boolean).join(delimiter),
  })
}

interface Client {
  readonly library?: string
  readonly words?: string[]
  readonly program: string
}

const CLIENTS: Readonly<Record<string, Client>> = {
  'threads that share a queue, a lock and a pool': {
    program: `
from concurrent.futures import ThreadPoolExecutor
jobs, gate = queue.Queue(), threading.Lock()
def work():
    while jobs.get() is not None:
        with gate: call()
def call():
    try: get(timeout=3)
    except HTTPError as error:
        threading.Event().wait(int(error.headers['Retry-After']))
        call()
with ThreadPoolExecutor() as pool:
    for _ in range(4): pool.submit(work)
    for job in [*range(65), *[None] * 4]: jobs.put(job)`,
  },
  asyncio: {
    program: `
async def main():
    done = 0
    while done < 65:
        try:
            await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, get), 30)
            done += 1
        except HTTPError as error: await asyncio.sleep(int(error.headers['Retry-After']))
asyncio.run(main())`,
  },
  'requests with urllib3.Retry': {
    library: 'requests',
    program: `
import requests, requests.adapters, urllib3.util
retry = urllib3.util.Retry(3, backoff_factor=1, status_forcelist=[429])
session = requests.Session()
session.mount('http://', requests.adapters.HTTPAdapter(max_retries=retry))
for _ in range(65): session.get(url, headers=headers, timeout=3).raise_for_status()`,
  },
  httpx: {
    library: 'httpx',
    program: `
import httpx
async def main():
    async with httpx.AsyncClient(headers=headers) as client:
        done = 0
        while done < 65:
            response = await client.get(url)
            if response.status_code == 429: await asyncio.sleep(int(response.headers['Retry-After']))
            else: done += 1
asyncio.run(main())`,
  },
  aiohttp: {
    library: 'aiohttp',
    program: `
import aiohttp
async def main():
    async with aiohttp.ClientSession(headers=headers) as client:
        done = 0
        while done < 65:
            async with client.get(url) as response:
                if response.status == 429: await asyncio.sleep(int(response.headers['Retry-After']))
                else: done += 1
asyncio.run(main())`,
  },
  'pytest -n 4': {
    library: 'xdist',
    words: ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-n', '4'],
    program: `
import pytest
@pytest.mark.parametrize('number', range(65))
def test_list(number):
    try: get()
    except HTTPError as error:
        time.sleep(int(error.headers['Retry-After']))
        test_list(number)`,
  },
}

for (const [name, { library, words, program }] of Object.entries(CLIENTS)) {
  test(`exec --skip-waits - ${name}`, needing(library), async t => {
    const { code, stdout, stderr } = await run(t, program, library, words)
    assert.equal(code, 0, stdout + stderr)
    assert.match(stderr, /Skipped (1 min|\d\d s)/)
    // Workers in processes of their own do not know of each other's waits.
    if (!words) assert.match(stderr, /^Verdict: no violations in 6\d requests\./)
  })
}

test('exec --skip-waits - sees a Python client that waits half as long', needing(), async t => {
  const program = `
for _ in range(62):
    try: get()
    except HTTPError as error: time.sleep(int(error.headers['Retry-After']) / 2)`
  const { stderr } = await run(t, program)
  assert.match(stderr, /^Verdict: 1 finding in 62 requests\.\n {2}retry-after\.early \(key demo-f/)
})

test('exec --skip-waits - a fault that holds a request lasts no real time', needing(), async t => {
  const program = `
def arm(**fault):
    urlopen(Request(control + '/faults', json.dumps(fault).encode(), {'Content-Type': 'application/json'}))
hang, delay = {'kind': 'hang'}, {'kind': 'delay', 'duration': '31s'}
async def stream():
    reader, writer = await asyncio.open_connection(*base.split('/')[2].split(':'))
    writer.write(f'GET /v1/pets HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer {key}\\r\\n\\r\\n'.encode())
    await asyncio.wait_for(reader.read(), 4)
for fault, call in (hang, lambda: get(timeout=3)), (hang, lambda: asyncio.run(stream())), (delay, get):
    arm(**fault)
    begin = time.monotonic()
    try: call()
    except (asyncio.TimeoutError, OSError): pass
    print(int(time.monotonic() - begin), end=' ')`
  const { stdout, stderr } = await run(t, program)
  assert.equal(stdout, '3 4 31 ', stderr)
  assert.match(stderr, /Skipped 3[78] s/)
})

test(
  'exec --skip-waits - all clocks of Python agree, and look like those before',
  needing(),
  async t => {
    const program = `
import calendar, pickle
class Timer: clock = time.monotonic
clocks = [
    time.time, time.monotonic, time.perf_counter, Timer().clock, lambda: time.time_ns() / 1e9,
    lambda: calendar.timegm(time.gmtime()), lambda: datetime.datetime.now().timestamp(),
    lambda: datetime.datetime.now(datetime.timezone.utc).timestamp(),
]
get()
begin = [clock() for clock in clocks]
time.sleep(30)
print({round((clock() - before) / 10) for clock, before in zip(clocks, begin)})
print(datetime.date.today().year, time.strftime('%Y'), type(datetime.datetime.now()) is datetime.datetime)
print(pickle.loads(pickle.dumps(time.sleep)) is time.sleep, os.customized)
# Another process takes real time, and this time limit is longer.
print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(0.1)']).wait(20))`
    const { stdout, stderr } = await run(t, program)
    assert.equal(stdout, '{3}\n2030 2030 True\nTrue True\n0\n', stderr)
  },
)

test('exec --skip-waits - freezegun works on top', needing('freezegun'), async t => {
  const program = `
import freezegun
with freezegun.freeze_time('2020-02-02'):
    get(timeout=3)
    time.sleep(30)
    print(datetime.datetime.now(), time.time())
print(datetime.datetime.now().year)`
  const { stdout, stderr } = await run(t, program, 'freezegun')
  assert.equal(stdout, '2020-02-02 00:00:00 1580601600.0\n2030\n', stderr)
  assert.match(stderr, /Skipped 30 s/)
})
