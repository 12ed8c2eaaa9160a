import { EventSourceParserStream } from 'eventsource-parser/stream'

/** An event of a stream of server-sent events. `event` is `message` unless it is named. */
export type ServerEvent = { event: string; data: string }

/** Reads server-sent events. The stream is canceled when the reader stops. */
export async function* readServerEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>
  const parsed = stream.pipeThrough(decoder).pipeThrough(new EventSourceParserStream())
  for await (const { event = 'message', data } of parsed) yield { event, data }
}
