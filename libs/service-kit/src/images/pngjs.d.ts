declare module 'pngjs' {
  /** The part that is used. The package has no types. */
  export class PNG {
    constructor(options: { width: number; height: number })
    /** Red, green, blue and alpha of each pixel, transparent at first. */
    data: Buffer
    static sync: { write(image: PNG): Buffer; read(file: Buffer): PNG }
  }
}
