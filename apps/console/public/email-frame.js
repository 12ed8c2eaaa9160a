// Shows the HTML of an email in a sandboxed page whose policy allows the email's own styles and no scripts but this one.
addEventListener('message', (event) => {
  if (event.source !== parent || typeof event.data !== 'string') return
  document.body.innerHTML = event.data
})
parent.postMessage('ready', '*')
