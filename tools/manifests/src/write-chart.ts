import { writeFileSync } from 'node:fs'
import { CHART_BASE } from './helm.ts'
import { findKustomize, renderText } from './render.ts'

const kustomize = findKustomize()
if (!kustomize) throw new Error('Install kustomize or kubectl: neither is there')
const header = '# Generated from deploy/k8s/base by `npm run k8s:chart`; do not edit.\n'
writeFileSync(CHART_BASE, header + renderText(kustomize, 'base'))
