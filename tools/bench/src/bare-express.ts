import express from 'express'

/** The baseline: what Express 5 does for the same request when it does nothing else. */
const app = express()
app.disable('x-powered-by')
app.get('/readyz', (_req, res) => void res.json({ status: 'ready' }))
app.post('/api/v1/t', express.json({ limit: '1mb' }), (req, res) => void res.status(202).json(req.body))
app.get('/s/:code', (_req, res) => res.redirect(302, 'https://shop.example/shoes?color=red'))
app.post('/api/v1/decide', express.json(), (req, res) => void res.json(req.body))
app.listen(Number(process.env.PORT))
