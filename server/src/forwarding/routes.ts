/** HTTP of the forwarding area. */
export { forwardingRoutes } from './routes/subscribers.ts';
