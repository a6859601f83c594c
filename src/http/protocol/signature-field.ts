// Removes the signature of a SAS from a URL. Whoever has the signature can use the SAS, so it never appears in a
// log, a list or the properties of a copy.

/** The URL without its signature, as the properties of a copy show it. */
export function withoutSignature(url: string): string {
  return mapFields(url, (field) => (isSignature(field) ? undefined : field))
}

/** The URL with its signature replaced by X's, as Storage Analytics logs it. */
export function hideSignature(url: string): string {
  return mapFields(url, (field) => {
    return isSignature(field) ? `${field.slice(0, field.indexOf('='))}=XXXXX` : field
  })
}

/** The name of a query field as the server reads it: `%73IG` is `sig`. */
export function fieldNameOf(rawName: string): string {
  return decodeLeniently(rawName).toLowerCase()
}

/** Some servers treat a semicolon like an ampersand. */
function isSignature(field: string): boolean {
  return field.split(';').some((part) => {
    const equals = part.indexOf('=')
    return equals >= 0 && fieldNameOf(part.slice(0, equals)) === 'sig'
  })
}

function mapFields(url: string, map: (field: string) => string | undefined): string {
  const question = url.indexOf('?')
  if (question < 0) return url
  const fields = url.slice(question + 1).split('&')
  const mapped = fields.map(map).filter((field) => field !== undefined)
  const path = url.slice(0, question)
  return mapped.length === 0 ? path : `${path}?${mapped.join('&')}`
}

/** A percent sign that does not encode an ASCII character stays unchanged. */
function decodeLeniently(text: string): string {
  if (!text.includes('%')) return text
  return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}
