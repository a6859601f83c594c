// RC4. NTLM encrypts the session key ([MS-NLMP] 3.1.5.1.2) and the checksum of a signature (3.4.4.2) with it.
// OpenSSL 3 no longer offers it by default. Encrypting and decrypting are the same.

export function rc4(key: Uint8Array, bytes: Uint8Array): Buffer {
  const box = schedule(key)
  const result = Buffer.alloc(bytes.length)
  let [i, j] = [0, 0]
  for (const [offset, byte] of bytes.entries()) {
    i = (i + 1) & 255
    j = (j + (box[i] ?? 0)) & 255
    swap(box, i, j)
    result[offset] = byte ^ (box[((box[i] ?? 0) + (box[j] ?? 0)) & 255] ?? 0)
  }
  return result
}

function schedule(key: Uint8Array): Uint8Array {
  const box = Uint8Array.from({ length: 256 }, (_, index) => index)
  let j = 0
  for (let i = 0; i < 256; i++) {
    j = (j + (box[i] ?? 0) + (key[i % key.length] ?? 0)) & 255
    swap(box, i, j)
  }
  return box
}

function swap(box: Uint8Array, i: number, j: number): void {
  const byte = box[i] ?? 0
  box[i] = box[j] ?? 0
  box[j] = byte
}
