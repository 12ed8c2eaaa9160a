/** The line of each SDK, as in docs/sdks.md. */
export const sdkLines = (key: string, url: string): string => `// Browser: @segment/analytics-next
AnalyticsBrowser.load({ writeKey: '${key}', cdnURL: '${url}' })
// Browser: @rudderstack/analytics-js
rudderAnalytics.load('${key}', '${url}', { configUrl: '${url}' })
// Node: @segment/analytics-node
new Analytics({ writeKey: '${key}', host: '${url}' })
// Node: @rudderstack/rudder-sdk-node
new Analytics('${key}', { dataPlaneUrl: '${url}' })
# Python: segment-analytics-python
Client('${key}', host='${url}')
// Go: github.com/segmentio/analytics-go/v3
analytics.NewWithConfig("${key}", analytics.Config{Endpoint: "${url}"})`
