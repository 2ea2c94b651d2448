const esm = ['animal-adoption-store', 'lossless-json', 'mitt', 'zod']

module.exports = {
  transformIgnorePatterns: [`/node_modules/(?!(${esm.join('|')})/)`],
}
