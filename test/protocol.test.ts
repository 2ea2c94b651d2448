import { DOORS } from './doors.js'
import { protocolSuite } from './protocol-suite.js'

for (const [name, open] of Object.entries(DOORS)) protocolSuite(name, open)
