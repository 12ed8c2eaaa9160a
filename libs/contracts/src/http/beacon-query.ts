import { Type } from 'typebox'

/** The query of operations that a page may send with `navigator.sendBeacon`. */
export const BeaconQuery = Type.Object({
  apiKey: Type.Optional(
    Type.String({
      description:
        'A key of kind `pub`, for clients that cannot set headers, such as `navigator.sendBeacon`. Proxies log ' +
        'URLs, so use a header where possible. Keys of kind `sec` are refused here.',
    }),
  ),
})
