// FSCTL_VALIDATE_NEGOTIATE_INFO ([MS-SMB2] 3.3.5.15.12): repeats the negotiation under a signature. If it was changed
// in transit, the connection is closed.
import { chooseDialect } from '../command/negotiate.ts'
import { DIALECT } from '../session/dialect.ts'
import { DropConnection, SmbError } from '../smb-error.ts'
import { decodeValidateNegotiate, encodeValidateNegotiate } from '../wire/session/negotiate.ts'
import type { FsctlCall, FsctlReply } from './fsctl.ts'

const OUTPUT_BYTES = 24

export function runValidateNegotiate(call: FsctlCall): FsctlReply {
  const { connection, world, input, outputMaxBytes } = call
  const { negotiated } = connection
  // In 3.1.1 the keys depend on the hash of the negotiation, so clients have no reason to ask.
  if (negotiated === undefined || negotiated.dialect === DIALECT.smb311) {
    throw new DropConnection('nothing to validate')
  }
  const request = decodeValidateNegotiate(input)
  const isSame =
    request.capabilities === negotiated.clientCapabilities &&
    request.securityMode === negotiated.clientSecurityMode &&
    request.clientGuid.equals(negotiated.clientGuid) &&
    chooseDialect(request.dialects) === negotiated.dialect
  if (!isSame) throw new DropConnection('the negotiation was changed in transit')
  if (outputMaxBytes < OUTPUT_BYTES) throw new SmbError('INVALID_PARAMETER')
  return { output: encodeValidateNegotiate({ ...negotiated, serverGuid: world.serverGuid }) }
}
