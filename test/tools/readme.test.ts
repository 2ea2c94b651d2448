import { testCodeBlocks } from '../support/code-blocks.js'

testCodeBlocks('tools')
