declare module 'jstat' {
  /** What is used of it; it has no types of its own. */
  const jstat: {
    jStat: {
      normal: {
        cdf(x: number, mean: number, std: number): number
        inv(p: number, mean: number, std: number): number
      }
      chisquare: { cdf(x: number, dof: number): number }
    }
  }
  export default jstat
}
