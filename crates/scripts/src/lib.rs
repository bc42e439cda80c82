//! Scripts that call tools: the module that they import, the door that their
//! calls come through, and the bounds that they are held to.
