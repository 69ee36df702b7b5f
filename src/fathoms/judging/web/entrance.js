"use strict";
// The way in, for whoever has no cookie yet.

const HOW = "Open this page by the whole link that you were given: it ends in #token= and letters.";

enter().then(
  (came) => { if (!came) complain(HOW); },
  (error) => complain(error.status ? sentence(error.message) : "No connection to the server; load the page again."),
);
