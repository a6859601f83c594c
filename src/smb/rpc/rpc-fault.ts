// Why a call failed, as a DCE/RPC fault says it (C706 appendix E, [MS-RPCE] 2.2.2.11). Thrown while a
// request is read or answered, and turned into a fault PDU once, in the pipe.

export const FAULT = {
  /** nca_s_op_rng_error: the interface has no such operation. */
  operationRange: 0x1c010002,
  /** nca_s_unk_if: no such presentation context, or no bind yet. */
  unknownInterface: 0x1c010003,
  /** nca_s_proto_error: not a PDU that may come here. */
  protocol: 0x1c01000b,
  /** nca_s_fault_invalid_tag: a union's level that the interface does not have. */
  invalidTag: 0x1c000006,
  /** nca_s_fault_context_mismatch: a handle that is not ours. */
  contextMismatch: 0x1c00001a,
  /** nca_s_fault_remote_no_memory: a request larger than we collect. */
  noMemory: 0x1c00001b,
  /** RPC_X_BAD_STUB_DATA: the arguments are not NDR. */
  badStub: 0x000006f7,
} as const

export class RpcFault extends Error {
  readonly status: number

  constructor(status: number) {
    super(`DCE/RPC fault 0x${status.toString(16)}`)
    this.name = 'RpcFault'
    this.status = status
  }
}
