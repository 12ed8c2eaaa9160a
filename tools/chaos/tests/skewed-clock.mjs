// Loaded before an app by NODE_OPTIONS: at SIGUSR2 its wall clock jumps by CLOCK_JUMP_MS, and back at the next one.
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
