"use strict";
// The way in, for whoever has no cookie yet.

async function come() {
  if (await enter()) return;
  await ask("api/about"); // which says what is amiss, unless the cookie is for the other page
  complain("Open this page with its own link; the one that you came by is for another page.");
}

come().catch(
  (error) => complain(error.status ? sentence(error.message) : "No connection to the server; load the page again."),
);
