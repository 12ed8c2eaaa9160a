// Preloaded into an app by NODE_OPTIONS: SIGUSR2 moves its wall clock by CLOCK_JUMP_MS, and the next one moves it back.
const RealDate = Date
let shiftMs = 0
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shiftMs)
    else super(...given)
  }
  static now() {
    return RealDate.now() + shiftMs
  }
}
process.on('SIGUSR2', () => {
  shiftMs = shiftMs === 0 ? Number(process.env.CLOCK_JUMP_MS) : 0
})
