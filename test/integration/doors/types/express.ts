import { createServer } from 'node:http'
import { createStore } from 'animal-adoption-store'
import { toNodeHandler } from 'animal-adoption-store/http'
import { memoryStorage } from 'animal-adoption-store/memory'
import express from 'express'
import type { NextApiHandler } from 'next'

const handler = toNodeHandler(createStore({ storage: memoryStorage(), apiKeys: {} }))
express().use('/store', handler)
createServer(handler)
export default handler satisfies NextApiHandler
