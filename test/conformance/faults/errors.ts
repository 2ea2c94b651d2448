import { bodies, headers, type PlantedFault, status } from '../faulty-server.js'

export const errorsFaults: readonly PlantedFault[] = [
  ...([400, 401, 404] as const).flatMap((code): PlantedFault[] => [
    {
      name: `answers ${code} without a code`,
      caughtBy: `error.body.${code}`,
      also: [...(code === 404 ? [] : ['error.code'])],
      wrong: bodies(status(code), error => ({ ...error, code: undefined })),
    },
    {
      name: `answers ${code} with another status in the body`,
      caughtBy: `error.status.${code}`,
      wrong: bodies(status(code), error => ({ ...error, status: 500 })),
    },
    {
      name: `answers ${code} as a page`,
      caughtBy: `error.type.${code}`,
      wrong: headers(status(code), () => ({ 'Content-Type': 'text/html' })),
    },
  ]),
  {
    name: 'has one code for everything',
    caughtBy: 'error.code',
    wrong: bodies(status(400, 401, 404), error => ({ ...error, code: 'error' })),
  },
  {
    name: 'shows a stack trace',
    caughtBy: 'error.internals',
    wrong: bodies(status(400), error => ({ ...error, message: 'No\n    at parse (body.js:1:2)' })),
  },
]
