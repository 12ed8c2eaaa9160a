import { describe, expect, it } from 'vitest'
import { isCommonPassword } from './common-password.ts'

const listed = new Set(['password', 'qwertyuiop', 'monkey', '1q2w3e4r5t6y', 'pass'])

describe('isCommonPassword', () => {
  it.each([
    '1q2w3e4r5t6y',
    '1Q2W3E4R5T6Y',
    'password1234',
    'Password123!',
    '!!!qwertyuiop',
    'monkey123456',
    'passwordpassword',
    'passpasspass',
    'aaaaaaaaaaaa',
    'ababababababab',
  ])('refuses %s', (password) => {
    expect(isCommonPassword(password, listed)).toBe(true)
  })

  it.each([
    'correct horse battery',
    'monkey1234567',
    'password of my cat',
    '8!9#2$7%4&1x',
    'abcabcabcabd',
    'парольнемойсовсем',
    '830914772650',
  ])('accepts %s', (password) => {
    expect(isCommonPassword(password, listed)).toBe(false)
  })
})
