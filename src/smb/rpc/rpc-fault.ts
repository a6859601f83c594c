// The status of a failed call as a DCE/RPC fault (C706 appendix E, [MS-RPCE] 2.2.2.11). It is thrown while a request is
// decoded or answered, and becomes a fault PDU in one place, the pipe.

export const FAULT = {
  /** nca_s_op_rng_error: the interface has no such operation. */
  operationRange: 0x1c010002,
  /** nca_s_unk_if: no such presentation context, or no bind yet. */
  unknownInterface: 0x1c010003,
  /** nca_s_proto_error: a PDU that is invalid or out of order. */
  protocol: 0x1c01000b,
  /** nca_s_fault_invalid_tag: a level of a union that the interface does not have. */
  invalidTag: 0x1c000006,
  /** nca_s_fault_context_mismatch: a handle that is not ours. */
  contextMismatch: 0x1c00001a,
  /** nca_s_fault_remote_no_memory: the request exceeds the limit. */
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
