/** For messages: the given text may be a URL, in which any part after the scheme can be secret. */
export function withoutSecrets(text: string): string {
  return text.replace(/([a-z][\w+.-]*:(\/\/)?|\/\/(?=.*@)).+/is, '$1…')
}

/** The same for what should be a path, a number or a host, of which `C:\pets` and `h:80` stay. */
export function withoutUrl(text: string): string {
  return text.replace(/(:\/\/|(?::|\/\/)(?=.*@)).+?('?)$/s, '$1…$2')
}
