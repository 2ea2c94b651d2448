export type { Disk } from '../kit/disk.js'
export { JsonFileError } from './json-file-error.js'
export { type JsonFileOptions, jsonFileStorage } from './open.js'
export type { JsonFileStorage, WhenIdle } from './storage.js'
