import path from 'node:path'

/**
 * An MMDB file with invented places for the networks reserved for documentation: 203.0.113.0/24 is Linköping (SE),
 * 198.51.100.0/24 somewhere in JP, 2001:db8::/32 Recife (BR). Written by mmdb_writer of PyPI.
 */
export const placesFile = path.resolve(import.meta.dirname, '../fixtures/places.mmdb')
