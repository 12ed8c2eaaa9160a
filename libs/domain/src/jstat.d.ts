declare module 'jstat' {
  /** The functions that are used. The package has no types. */
  const jstat: {
    jStat: {
      normal: {
        cdf(x: number, mean: number, std: number): number
        inv(p: number, mean: number, std: number): number
      }
      studentt: {
        cdf(x: number, dof: number): number
        inv(p: number, dof: number): number
      }
      chisquare: { cdf(x: number, dof: number): number }
    }
  }
  export default jstat
}
