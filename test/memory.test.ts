import test from 'node:test'
import { memoryStorage } from '../adapters/memory.js'
import { storageSuite } from './storage-suite.js'

storageSuite(test, { create: memoryStorage })
