import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describeConfiguration } from './configuration.ts'
import { allSections } from './sections.ts'

const file = path.resolve(import.meta.dirname, '../../../docs/configuration.md')
await writeFile(file, describeConfiguration(await allSections()))
