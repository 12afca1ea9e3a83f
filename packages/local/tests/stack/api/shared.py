NAME = "the api's own"
