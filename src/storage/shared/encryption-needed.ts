/** The container has come to encrypt what is put, and the bytes are not encrypted so: to be put anew. */
export class EncryptionNeeded extends Error {}
