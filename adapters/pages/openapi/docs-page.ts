const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Animal Adoption Store</title>
<link rel="icon" href="data:,">
`

export const DOCS_PAGE = `${HEAD}<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<header>
<a id="home" href="./" hidden>← Console</a>
<span>API reference</span>
<a href="openapi.json">openapi.json</a>
</header>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
`

export const NOT_INSTALLED_PAGE = `${HEAD}<h1>Animal Adoption Store</h1>
<p>The API is described in <a href="openapi.json">openapi.json</a>.</p>
<p>To read it here and to try it out, install the renderer and start the server again:</p>
<pre>npm install swagger-ui-dist</pre>
`

/**
 * Starts Swagger UI with full addresses and, if there is one, the key filled in. The validator, a
 * remote service, is off. Swagger UI rounds numbers when it formats JSON, so responses with longer
 * numbers are shown as plain text.
 * @param demoKey a public API key
 */
export function startScript(demoKey: string | undefined): string {
  return `const demoKey = ${JSON.stringify(demoKey ?? null)}

const exactNumbers = ({ React }) => ({
  wrapComponents: {
    responseBody: Body => props =>
      React.createElement(
        Body,
        /\\d{16}/.test(props.content) ? { ...props, contentType: 'text/plain' } : props,
      ),
  },
})

const dark = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()

const withAddresses = spec => ({
  ...spec,
  servers: spec.servers
    .map(({ description, variables }) => ({
      url: new URL(Object.values(variables)[0].default, location.href).href,
      description,
    }))
    .filter(({ url }) => !/^https?:[/][/][^/]*[.]invalid[/]/.test(url)),
})

// Some servers have no page there.
fetch('./', { headers: { accept: 'text/html' } }).then(answer => {
  const isPage = answer.ok && answer.headers.get('content-type').startsWith('text/html')
  document.querySelector('#home').hidden = !isPage
})

fetch('openapi.json')
  .then(answer => answer.json())
  .then(spec => {
    const ui = SwaggerUIBundle({
      spec: withAddresses(spec),
      dom_id: '#docs',
      validatorUrl: 'none',
      tryItOutEnabled: true,
      plugins: [exactNumbers],
      onComplete() {
        if (demoKey) ui.preauthorizeApiKey(Object.keys(spec.components.securitySchemes)[0], demoKey)
      },
    })
  })
`
}

export const DOCS_STYLE = `:root {
  color-scheme: light dark;
}
body {
  margin: 0;
}
header {
  display: flex;
  gap: 20px;
  padding: 14px 20px;
  border-bottom: 1px solid #8886;
  font: 14px system-ui, sans-serif;
  color: light-dark(#111, #e4e6e6);
}
header span {
  flex: 1;
  font-weight: 600;
}
header a {
  color: light-dark(#0b6b60, #58cdbb);
}
`
