import { writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { bundledObjects, CHART_BASE, CHART_BUNDLED } from './helm.ts'
import { findKustomize, render, renderText } from './render.ts'

const kustomize = findKustomize()
if (!kustomize) throw new Error('Install kustomize or kubectl: neither is there')
const header = (folder: string) =>
  `# Generated from deploy/k8s/${folder} by \`npm run k8s:chart\`; do not edit.\n`
writeFileSync(CHART_BASE, header('base') + renderText(kustomize, 'base'))
const bundled = bundledObjects(render(kustomize, 'overlays/local'))
// Helm reads YAML 1.1, in which a bare `no` is false.
const options = { aliasDuplicateObjects: false, version: '1.1' } as const
const text = bundled.map((object) => stringify(object, options)).join('---\n')
writeFileSync(CHART_BUNDLED, header('overlays/local') + text)
