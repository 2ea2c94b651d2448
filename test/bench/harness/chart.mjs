/**
 * Bars side by side in panels, one row per name, as an SVG that follows the light or dark mode of
 * its reader. A line through the end of a bar is its range.
 *
 * @param rows `{ name, isOurs, cells }`, with a cell `{ value, low, high }` for each panel
 */
export function chart({ title, panels, rows, most, mark, format }) {
  const height = TOP + rows.length * ROW + 10
  const width = (WIDTH - NAMES) / panels.length
  const scale = (width - LABEL) / most
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>`,
    text(14, 24, title, ''),
    ...rows.map(({ name, isOurs }, row) =>
      text(NAMES - 10, middle(row), name, `end${isOurs ? ' ours' : ''}`),
    ),
    ...panels.flatMap((panel, column) => [
      text(NAMES + column * width, TOP - 16, panel, 'head'),
      ...(mark ? [line(NAMES + column * width + mark * scale, TOP - 4, height - 8, 'mark')] : []),
      ...rows.flatMap(({ isOurs, cells }, row) =>
        bar(NAMES + column * width, middle(row), cells[column], isOurs),
      ),
    ]),
    '</svg>\n',
  ].join('\n')

  function bar(left, y, { value, low, high }, isOurs) {
    const end = round(left + value * scale)
    return [
      `<rect class="${isOurs ? 'ours' : 'bar'}" x="${round(left)}" y="${y - 7}" width="${round(value * scale)}" height="14" rx="2"/>`,
      `<path class="range" d="M${round(left + low * scale)} ${y}H${round(left + high * scale)}"/>`,
      text(Math.max(end, left + high * scale) + 6, y, format(value), isOurs ? 'ours' : ''),
    ]
  }
}

const WIDTH = 800
/** The column of names, and the room for the figure behind a bar. */
const NAMES = 190
const LABEL = 54
const TOP = 72
const ROW = 24

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328; dominant-baseline: central;
  stroke: #fff; stroke-width: 3px; paint-order: stroke }
.head, text.ours { font-weight: 600 } .end { text-anchor: end }
.page { fill: #fff } .bar { fill: #8c959f } rect.ours { fill: #0969da }
.range { stroke: #1f2328; stroke-width: 1.5 } .mark { stroke: #59636e; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; stroke: #0d1117 } .page { fill: #0d1117 } .bar { fill: #656c76 } rect.ours { fill: #4493f8 }
.range { stroke: #f0f6fc } .mark { stroke: #9198a1 }
}`

function middle(row) {
  return TOP + row * ROW + ROW / 2
}

function text(x, y, content, style) {
  return `<text class="${style}" x="${round(x)}" y="${y}">${content}</text>`
}

function line(x, from, to, style) {
  return `<path class="${style}" d="M${round(x)} ${from}V${to}"/>`
}

function round(value) {
  return Math.round(value * 10) / 10
}
