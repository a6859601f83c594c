// SecurityMode of NEGOTIATE and SESSION_SETUP ([MS-SMB2] 2.2.3, 2.2.4, 2.2.5).
export const SECURITY_MODE = { signingEnabled: 1, signingRequired: 2 } as const
