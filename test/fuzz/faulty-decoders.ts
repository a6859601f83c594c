// Decoders with one fault each, for the test of the fuzzer.
export class Refused extends Error {}

export function throwsBehindFourLetters(input: Buffer): string {
  if (input[0] !== 0x6c) throw new Refused()
  if (input[1] !== 0x61) throw new Refused()
  if (input[2] !== 0x7a) throw new Refused()
  if (input[3] === 0x75) throw new TypeError('found')
  return 'decoded'
}

export function neverReturnsEnough(input: Buffer): string {
  if (input.length < 1_000_000) throw new Refused()
  return 'decoded'
}

/** A length in the input decides how much memory is taken. */
export function returnsTooMuch(input: Buffer): string {
  return 'x'.repeat((input[0] ?? 0) * (input[1] ?? 0) * 10)
}

export function worksTooMuch(input: Buffer): number {
  let equal = 0
  for (const one of input) {
    for (const other of input) for (const third of input) if (one + other === third) equal += 1
  }
  return equal
}

export function forgets({ text }: { readonly text: string }): { readonly text: string } {
  return { text: text.replace('\0', '') }
}
