import { randomBytes } from 'node:crypto'
import { docker, images } from '@waymark/testing'

/** A small disk in memory, and a container that holds it, so that it outlives a crashed server. */
export const createSmallDisk = async (megabytes: number) => {
  const volume = `waymark-chaos-${randomBytes(4).toString('hex')}`
  const options = ['type=tmpfs', 'device=tmpfs', `o=size=${megabytes}m,mode=1777`]
  await docker('volume', 'create', ...options.flatMap((option) => ['--opt', option]), volume)
  const holder = (
    await docker('run', '--detach', '--rm', '--volume', `${volume}:/disk`, images.redis, 'sleep', '3600')
  ).trim()
  const inside = (command: string) => docker('exec', holder, 'sh', '-c', command)
  return {
    volume,
    fill: () => inside('dd if=/dev/zero of=/disk/filler bs=64k 2>/dev/null; true'),
    empty: () => inside('rm /disk/filler'),
    remove: async () => {
      await docker('rm', '--force', holder)
      await docker('volume', 'rm', volume)
    },
  }
}
