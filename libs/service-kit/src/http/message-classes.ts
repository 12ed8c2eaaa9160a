import { IncomingMessage, type RequestListener, type ServerOptions, ServerResponse } from 'node:http'
import type { Express } from 'express'

type MessageClasses = Required<Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>>

const classesOfApps = new WeakMap<RequestListener, MessageClasses>()

/**
 * Creates classes for the requests and responses of an app, which `messageClassesOf` returns. Express sets the prototype of
 * each message, which makes all later uses of it slow unless it has that prototype already.
 */
export const useOwnPrototypes = (app: Express): void => {
  class AppRequest extends IncomingMessage {}
  class AppResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype })
  classesOfApps.set(app, { IncomingMessage: AppRequest, ServerResponse: AppResponse })
}

/** The classes with which a server creates the messages of an app. Empty for other listeners. */
export const messageClassesOf = (handler: RequestListener): Partial<MessageClasses> =>
  classesOfApps.get(handler) ?? {}
