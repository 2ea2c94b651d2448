import { headers, isGet, isList, type PlantedFault } from '../faulty-server.js'

export const deprecationFaults: readonly PlantedFault[] = [
  {
    name: 'announces no removal',
    caughtBy: 'deprecation.announced',
    wrong: headers(isGet, () => ({ Sunset: undefined, Link: undefined })),
  },
  {
    name: 'announces another day',
    caughtBy: 'deprecation.sunset',
    wrong: headers(isGet, () => ({ Sunset: 'Thu, 12 Dec 2030 00:00:00 GMT' })),
  },
  {
    name: 'is deprecated without a date',
    caughtBy: 'deprecation.date',
    wrong: headers(isGet, () => ({ Deprecation: 'true' })),
  },
  {
    name: 'deprecates the list',
    caughtBy: 'deprecation.only-get',
    wrong: headers(isList, () => ({ Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT' })),
  },
]
