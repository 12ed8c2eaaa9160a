import fc from 'fast-check'

// Vitest loads this before each test file of `npm test`: with the same random input in each run, only a change can make a
// property fail. Every night `npm run test:properties` takes other input. PROPERTY_SEED repeats the seed of a failure.
const { PROPERTY_SEED = '1' } = process.env
if (PROPERTY_SEED !== 'random') fc.configureGlobal({ seed: Number(PROPERTY_SEED) })
