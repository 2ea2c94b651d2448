/** For messages: the given text may be a URL, in which any part after the scheme can be secret. */
export function withoutSecrets(text: string): string {
  return text.replace(/([a-z][\w+.-]*:(\/\/)?|\/\/(?=.*@)).+/is, '$1…')
}
