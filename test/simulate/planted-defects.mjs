// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is code of the build
import { CLIENT_DEFECTS } from './planted-client-defects.mjs'

/** Defects of the service. */
const SERVICE_DEFECTS = [
  // The JSON file.
  {
    name: 'the journal is not synced',
    file: 'adapters/json-file/journal.js',
    from: 'await disk.fdatasync(file);',
    to: '',
  },
  {
    name: 'the sync of the journal is not awaited',
    file: 'adapters/json-file/journal.js',
    from: 'await disk.fdatasync(file);',
    to: 'void disk.fdatasync(file).catch(() => {});',
  },
  {
    name: 'the name of a new journal is not synced',
    file: 'adapters/json-file/journal.js',
    from: 'if (isNew)\n                await syncFolder(disk, path);',
    to: '',
  },
  {
    name: 'a failed batch stays in the journal',
    file: 'adapters/json-file/journal.js',
    from: 'await disk.ftruncate(file, length);',
    to: '',
  },
  {
    name: 'a batch is written over the one before',
    file: 'adapters/json-file/journal.js',
    from: 'batch.length - done, length + done);',
    to: 'batch.length - done, done);',
  },
  {
    name: 'the document is not synced before it is renamed',
    file: 'adapters/storage/files.js',
    from: 'await disk.fsync(file);',
    to: '',
  },
  {
    name: 'the rename of the document is not synced',
    file: 'adapters/json-file/document.js',
    from: 'await syncFolder(disk, path);',
    to: '',
  },
  {
    name: 'the document is written in place',
    file: 'adapters/json-file/document.js',
    from: "temporary: join(lock.folder, 'document')",
    to: 'temporary: path',
  },
  {
    name: 'a journal is removed before the document is written',
    file: 'adapters/json-file/files.js',
    from: 'await write(() => document.write());\n        await change(journal.remove, journal.remove);',
    to: 'await change(journal.remove, journal.remove);\n        await write(() => document.write());',
  },
  {
    name: 'creates are acknowledged before they are durable',
    file: 'adapters/json-file/storage.js',
    from: 'await files.append(linesOf(fresh, index.nextId()));',
    to: 'void files.append(linesOf(fresh, index.nextId())).catch(() => {});',
  },
  {
    name: 'the document forgets the next id',
    file: 'adapters/json-file/document.js',
    from: 'yield `,"nextId":${index.nextId()}`;',
    to: 'yield `,"nextId":${(index.list({ limit: 1e9 }).at(-1)?.id ?? 0)}`;',
  },
  {
    name: 'a compaction forgets the idempotency keys',
    file: 'adapters/json-file/document.js',
    from: 'const keys = [...index.usedKeys()];',
    to: 'const keys = [];',
  },
  {
    name: 'an idempotency key is stored after its animal, with the next document',
    file: 'adapters/json-file/storage.js',
    from: 'return once ? `${line}${keyToJson({ ...once, petId })}\\n` : line;',
    to: 'return line;',
  },
  {
    name: 'the last batch of a journal is not read after a crash',
    file: 'adapters/json-file/read-journal.js',
    from: 'for (const batch of batches)',
    to: 'for (const batch of batches.slice(0, -1))',
  },
  {
    name: 'a torn batch makes the file refuse to open',
    file: 'adapters/json-file/read-journal.js',
    from: 'if (isLast && !entries && !isIntact && !isFollowed(end)) {',
    to: 'if (false) {',
  },
  {
    name: 'the checksum of a batch is not compared',
    file: 'adapters/json-file/read-journal.js',
    from: 'isIntact: lines !== undefined && checksumOf(lines) === checksum',
    to: 'isIntact: lines !== undefined',
  },
  {
    name: 'a restore leaves the journal of what it replaces',
    file: 'adapters/json-file/files.js',
    from: `if (journal.length > 0)
                await compactAll();
            await write(() => content.write(index));`,
    to: 'await write(() => content.write(index));',
  },
  {
    name: 'the lock of a dead process stays',
    file: 'adapters/json-file/lock.js',
    from: 'if (!UNRELEASED.has(owner) && (await isAlive(disk, owner))) {',
    to: 'if (true) {',
  },
  {
    name: 'unfinished files of a dead process stay',
    file: 'adapters/json-file/lock.js',
    from: 'await disk.unlink(join(folder, name));',
    to: '{}',
  },
  // Idempotency.
  {
    name: 'two creates with one key in one batch are both stored',
    file: 'adapters/storage/once-each.js',
    from: 'if (!earlier)',
    to: 'if (true)',
  },
  {
    name: 'a key counts for every customer',
    file: 'src/protocol/answers.js',
    from: 'const name = { scope, key: readIdempotencyKey(headers), now };',
    to: "const name = { scope: 'all', key: readIdempotencyKey(headers), now };",
  },
  {
    name: 'a key is free again a minute too early',
    file: 'adapters/storage/used-keys.js',
    from: 'return use && now < use.expiresAt ? use : undefined;',
    to: 'return use && now < use.expiresAt - 60_000 ? use : undefined;',
  },
  {
    name: 'a key is never free again',
    file: 'adapters/storage/used-keys.js',
    from: 'return use && now < use.expiresAt ? use : undefined;',
    to: 'return use;',
  },
  {
    name: 'a key is not compared with its animal',
    file: 'src/pets/operations.js',
    from: 'if (inserted.fingerprint !== asked)',
    to: 'if (false)',
  },
  {
    name: 'a replay does not say so',
    file: 'src/protocol/answers.js',
    from: 'replayed ? { ...created, ...REPLAYED } : created',
    to: 'created',
  },
  // The limiter.
  {
    name: 'Retry-After is a second short',
    file: 'src/limits/decide.js',
    from: 'retryAfter: Math.ceil((reset - current) / SECOND),',
    to: 'retryAfter: Math.floor((reset - current) / SECOND),',
  },
  {
    name: 'a ban is forgotten when the minute ends',
    file: 'src/limits/decide.js',
    from: 'const banned = bannedUntil !== NEVER && at < bannedUntil;',
    to: 'const banned = bannedUntil !== NEVER && at < bannedUntil && sameMinute;',
  },
  {
    name: 'one request more than the limit is admitted',
    file: 'src/limits/decide.js',
    from: 'const minuteLeft = Math.max(0, policy.perMinute - minuteCount);',
    to: 'const minuteLeft = Math.max(0, policy.perMinute + 1 - minuteCount);',
  },
  {
    name: 'a clock that goes back a little frees the window',
    file: 'src/limits/decide.js',
    from: 'steppedBack > 0 && steppedBack <= CLOCK_SKEW ? usage.lastSeen : current',
    to: 'current',
  },
  {
    name: 'bans do not get longer',
    file: 'src/limits/decide.js',
    from: 'const level = remembered ? banLevel + 1 : 1;',
    to: 'const level = 1;',
  },
  {
    name: 'the limit of the day is not kept',
    file: 'src/limits/decide.js',
    from: 'const dayLeft = Math.max(0, policy.perDay - dayCount);',
    to: 'const dayLeft = Math.max(1, policy.perDay - dayCount);',
  },
  {
    name: 'a rejection counts as a request of the day',
    file: 'src/limits/decide.js',
    from: 'usage: { ...counts, rejections: rejections + 1 }',
    to: 'usage: { ...counts, dayCount: dayCount + 1, rejections: rejections + 1 }',
  },
  {
    name: 'a ban hides that the day is exhausted for longer',
    file: 'src/limits/decide.js',
    from: 'const reset = Math.max(windowEnd, until);',
    to: 'const reset = until || windowEnd;',
  },
  {
    name: 'a new key of a customer begins with a new budget',
    file: 'src/protocol/admission.js',
    from: 'const partition = key ? key.id :',
    to: 'const partition = key ? token :',
  },
  {
    name: 'a restart that keeps the counts forgets the bans',
    file: 'src/limits/memory.js',
    from: 'for (const [partition, usage] of snapshot)\n                table.set(partition, usage);',
    to: 'for (const [partition, usage] of snapshot)\n                table.set(partition, { ...usage, bannedUntil: 0 });',
  },
  {
    name: 'a key that was removed stays valid',
    file: 'src/protocol/api-keys.js',
    from: 'map.delete(name);\n',
    to: '\n',
  },
  // Responses.
  {
    name: 'a page stays as it was after a create',
    file: 'adapters/storage/pet-index.js',
    from: 'if (kept?.length === Math.min(limit, pets.length))',
    to: 'if (kept !== undefined)',
  },
  {
    name: 'a list begins with the last animal of the page before',
    file: 'adapters/storage/pet-index.js',
    from: 'pets.slice(start, start + limit)',
    to: 'pets.slice(Math.max(0, start - 1), start - 1 + limit)',
  },
  {
    name: 'Content-Length counts characters',
    file: 'src/protocol/response.js',
    from: 'return { text, bytes: utf8Length(text) };',
    to: 'return { text, bytes: text.length };',
  },
  {
    name: 'an integer beyond 2 ** 53 is rounded',
    file: 'src/lib/json.js',
    from: 'parseJson(text) {',
    to: 'parseJson(text) { return JSON.parse(text);',
  },
]

/**
 * Defects to plant in the built program, one at a time: `from` stands once in the file and becomes `to`.
 * `planted.mjs` runs them; a line that has changed since is reported.
 */
export const DEFECTS = [...SERVICE_DEFECTS, ...CLIENT_DEFECTS]
