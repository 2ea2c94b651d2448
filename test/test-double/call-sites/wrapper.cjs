// Stands in for a library between a test and `fetch`.
exports.send = (fetch, ...request) => fetch(...request)

exports.retrying = async (fetch, ...request) => {
  for (let attempt = 0; attempt < 2; attempt++) {
    await null
    const response = await nested(20, () => fetch(...request))
    if (response.ok || attempt === 1) return response
  }
}

function nested(depth, call) {
  return depth === 0 ? call() : nested(depth - 1, call)
}
