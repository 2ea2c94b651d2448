/**
 * Small changes to a program, each of which a test should notice: operators flipped, constants
 * moved by one, conditions negated, statements removed.
 */
import { parse } from 'acorn'
import { full } from 'acorn-walk'

const FLIPPED = {
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
}

/** @returns {{ start: number, end: number, text: string, what: string }[]} in the order of the code */
export function mutantsOf(code) {
  const mutants = []
  const add = (start, end, text, what) => mutants.push({ start, end, text, what })

  full(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), node => {
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression':
      case 'AssignmentExpression':
        flip(node)
        break
      case 'Literal':
        if (typeof node.value === 'number') {
          add(node.start, node.end, `(${node.raw} + 1)`, `${node.raw} plus one`)
        }
        if (typeof node.value === 'boolean') {
          add(node.start, node.end, String(!node.value), `${node.raw} negated`)
        }
        break
      case 'IfStatement':
      case 'ConditionalExpression':
      case 'WhileStatement':
        negate(node.test)
        break
      case 'ExpressionStatement':
        if (node.directive === undefined) add(node.start, node.end, ';', 'statement removed')
        break
      case 'ThrowStatement':
        add(node.start, node.end, ';', 'throw removed')
        break
    }
  })
  return mutants.toSorted((a, b) => a.start - b.start || a.end - b.end)

  function flip({ left, right, operator }) {
    const flipped = FLIPPED[operator]
    if (flipped === undefined) return
    const [before, after] = [left, right].map(side => code.slice(side.start, side.end))
    const text =
      operator.endsWith('=') && !/^[=!<>]/.test(operator)
        ? `${before} ${flipped} ${after}`
        : // In parentheses, as `a ?? b || c` is not valid without.
          `((${before}) ${flipped} (${after}))`
    add(left.start, right.end, text, `${operator} to ${flipped}`)
  }

  function negate(test) {
    add(test.start, test.end, `!(${code.slice(test.start, test.end)})`, 'condition negated')
  }
}
