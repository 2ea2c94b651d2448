/** `node servers/start.mjs NAME`: starts one server of this folder and prints where it listens. */
const [name, ...args] = process.argv.slice(2)
const { serve } = await import(`./${name}.mjs`)
const port = await serve(...args)
process.stdout.write(`${JSON.stringify({ origin: `http://127.0.0.1:${port}` })}\n`)
