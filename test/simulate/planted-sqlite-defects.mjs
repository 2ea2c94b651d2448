// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is code of the build
/** Defects of the SQLite adapter, as those of `planted-defects.mjs`. */
export const SQLITE_DEFECTS = [
  {
    name: 'a create is acknowledged though its commit failed',
    file: 'adapters/sqlite/connection.js',
    from: 'commit.run();\n            return result;',
    to: 'try { commit.run(); } catch { undo(); }\n            return result;',
  },
  {
    name: 'a transaction that failed is not rolled back',
    file: 'adapters/sqlite/connection.js',
    from: 'rollback.run();',
    to: '',
  },
  {
    name: 'commits of animals are not synced',
    file: 'adapters/sqlite/connection.js',
    from: "${synced ? 'FULL' : 'NORMAL'}",
    to: 'NORMAL',
  },
  {
    name: 'a create that gets no lock is answered with 201',
    file: 'adapters/sqlite/storage.js',
    from: 'return isPromise(inserted) ? (await inserted).pet : inserted.pet;',
    to: `return isPromise(inserted)
                ? (await inserted.catch(() => ({ pet: toPet(content.nextId(), given) }))).pet
                : inserted.pet;`,
  },
  {
    name: 'a locked file is refused at once',
    file: 'adapters/sqlite/connection.js',
    from: 'if (first !== undefined && giveUp())',
    to: 'if (first !== undefined)',
  },
  {
    name: 'a create waits for a lock for ever',
    file: 'adapters/sqlite/changes.js',
    from: 'createBatches(settle, { ...limits, queue });',
    to: 'createBatches(settle, limits);',
  },
  {
    name: 'a batch that fails uses up its ids',
    file: 'adapters/sqlite/storage.js',
    from: "let id = statements.nextId.get()['next'];",
    to: `let id = Math.max(insertAlone.next ?? 0, statements.nextId.get()['next']);
            insertAlone.next = id + inserts.length;`,
  },
  {
    name: 'a restore forgets the next id',
    file: 'adapters/sqlite/content.js',
    from: 'statements.setNextId.run(next, next - 1 - written);',
    to: '',
  },
  {
    name: 'a restore keeps the keys of what it replaces',
    file: 'adapters/sqlite/content.js',
    from: 'keys.removeAll();',
    to: '',
  },
  {
    name: 'a key is stored after the transaction of its animal',
    file: 'adapters/sqlite/storage.js',
    from: 'keys.use({ ...insert.keyed.once, petId: id });',
    to: '((petId) => queueMicrotask(() => { try { keys.use({ ...insert.keyed.once, petId }); } catch {} }))(id);',
  },
  {
    name: 'a file that is opened again forgets its keys',
    file: 'adapters/sqlite/storage.js',
    from: 'const keys = createKeys(connection);',
    to: 'const keys = createKeys(connection);\n    keys.removeAll();',
  },
  {
    name: 'keys never expire',
    file: 'adapters/sqlite/keys.js',
    from: 'WHERE scope = ? AND key = ? AND expires_at > ?`',
    to: 'WHERE scope = ? AND key = ? AND ? IS NOT NULL`',
  },
  {
    name: 'a copy leaves out the keys',
    file: 'adapters/sqlite/content.js',
    from: 'idempotencyKeys: explained(keys.readParts(PART), connection),',
    to: 'idempotencyKeys: explained([], connection),',
  },
  {
    name: 'counts begin again with each process',
    file: 'adapters/sqlite/rate-limits.js',
    from: 'const addresses = memoryRateLimits();',
    to: 'table.remove();\n    const addresses = memoryRateLimits();',
  },
  {
    name: 'bans are forgotten when the file is opened again',
    file: 'adapters/sqlite/rate-limits.js',
    from: 'const addresses = memoryRateLimits();',
    to: `connection.prepare('UPDATE usage SET banned_until = 0').run();
    const addresses = memoryRateLimits();`,
  },
  {
    name: 'each process remembers its counts',
    file: 'adapters/sqlite/rate-limits.js',
    from: 'const usages = new Map();',
    to: 'const usages = (decideAll.kept ??= new Map());',
  },
  {
    name: 'counts are not in a transaction',
    file: 'adapters/sqlite/rate-limits.js',
    from: 'function decideAll(waiting) {\n        return writing(() => {',
    to: 'function decideAll(waiting) {\n        return (part => part())(() => {',
  },
  {
    name: 'counts of a locked file are decided without the file',
    file: 'adapters/sqlite/rate-limits.js',
    from: 'return requests.make({ partition, policy, now });',
    to: `const answer = requests.make({ partition, policy, now });
            return answer instanceof Promise ? answer.catch(() => addresses.consume(partition, policy, now)) : answer;`,
  },
  {
    name: 'an animal of the last part is missing in a stream',
    file: 'adapters/sqlite/content.js',
    from: 'yield page;',
    to: 'yield page.length > 1 && page.length < PART ? page.slice(0, -1) : page;',
  },
  {
    name: 'names are not escaped',
    file: 'adapters/sqlite/rows.js',
    from: 'return isPlain(string) ? `"${string}"` : JSON.stringify(string);',
    to: 'return `"${string}"`;',
  },
].map(defect => ({ ...defect, world: 'sqlite' }))
