import type { Request, Response } from 'express'

/** What a visitor is told when a link leads nowhere. */
export type Refusal = { status: 404 | 410; error: string; reason?: string }

/** Answers that a link leads nowhere: as a small page to a browser, as JSON to everybody else. */
export const refuse = (req: Request, res: Response, { status, error, reason }: Refusal): void => {
  res.status(status).set('Cache-Control', 'no-store').vary('Accept')
  if (req.accepts(['json', 'html']) === 'html') res.type('html').send(page(error))
  else res.json({ error, ...(reason && { reason }) })
}

const page = (message: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${message}</title>
<style>
  body { display: grid; place-content: center; min-height: 90vh; font: 1.2rem system-ui, sans-serif; color-scheme: light dark }
</style>
<h1>${message}</h1>
</html>
`
