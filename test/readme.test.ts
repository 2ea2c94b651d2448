import { testCodeBlocks } from './support/code-blocks.js'

testCodeBlocks('node')
