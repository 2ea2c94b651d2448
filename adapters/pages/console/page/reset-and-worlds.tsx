import { useState } from 'preact/hooks'
import { pathsOf } from './call-server.js'
import { Button, Panel, type PanelProps, saveFile, useSend } from './components.js'

export function State({ world, go, refresh }: PanelProps) {
  const [send, problem] = useSend()
  const [done, setDone] = useState('')
  const paths = pathsOf(world)
  const run = async (method: string, path: string, success: string, body?: string) => {
    const text = await send(method, path, body)
    setDone(text === undefined ? '' : success)
    refresh()
    return text
  }
  const upload = async (event: Event) => {
    const input = event.currentTarget as HTMLInputElement
    const [file] = input.files ?? []
    if (file) await run('PUT', paths.control('snapshot'), 'Snapshot restored', await file.text())
    input.value = ''
  }
  const download = async () => {
    const text = await send('GET', paths.control('snapshot'))
    if (text !== undefined) saveFile('snapshot.json', text)
  }
  const createWorld = async () => {
    const text = await run('POST', './_control/worlds', 'World created')
    if (text !== undefined) go({ world: JSON.parse(text).id })
  }
  const deleteWorld = async () => {
    await run('DELETE', `./_control/worlds/${encodeURIComponent(world)}`, 'World deleted')
    go({ world: '' })
  }
  return (
    <Panel title={world ? `State of ${world}` : 'State'}>
      <div class="line">
        <Button onClick={() => run('POST', paths.control('reset'), 'Reset')}>Reset</Button>
        <Button onClick={download}>Download snapshot</Button>
        <label class="button">
          Restore snapshot
          <input type="file" accept="application/json,.json" class="hidden" onChange={upload} />
        </label>
        <Button onClick={createWorld}>New world</Button>
        {world !== '' && <Button onClick={deleteWorld}>Delete {world}</Button>}
      </div>
      {problem}
      <p class="done" role="status">
        {done}
      </p>
    </Panel>
  )
}
